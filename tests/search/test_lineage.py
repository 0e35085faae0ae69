from __future__ import annotations

from itertools import pairwise

import networkx as nx

from coevo.problems.base import Problem
from coevo.search.eoh import EoH
from coevo.search.lineage import ancestors, descent, lineage
from tests.search.standin import run


def test_the_incumbent_descends_from_an_i1(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    attempts = run(search, 300)
    graph = lineage(attempts)
    assert len(graph) == 300
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == sum(len(set(a.parents)) for a in attempts)
    number = max(one.number for one in search.population)
    line = descent(graph, number)
    assert line[-1] == number
    assert graph.nodes[line[0]]["operator"] == "i1"
    assert all(graph.has_edge(a, b) for a, b in pairwise(line))
    assert set(line) <= set(ancestors(graph, number))


def test_unknown_parents_are_left_out(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    attempts = run(search, 60)
    assert len(lineage(attempts[40:])) == 20
