"""Who descends from whom, as a NetworkX graph."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from coevo.attempt import Attempt


def lineage(attempts: Iterable[Attempt]) -> nx.DiGraph:
    """One node per attempt (its number), one edge from each parent to the child.

    Node attributes: ``operator``, ``generation``, ``stage`` (its value), ``objective`` (None unless
    scored), ``idea``. Parents that are not among ``attempts`` are left out.
    """
    graph = nx.DiGraph()
    attempts = list(attempts)
    for attempt in attempts:
        graph.add_node(
            attempt.number,
            operator=attempt.operator,
            generation=attempt.generation,
            stage=attempt.stage.value,
            objective=attempt.objective,
            idea=attempt.idea,
        )
    for attempt in attempts:
        graph.add_edges_from(
            (parent, attempt.number) for parent in attempt.parents if parent in graph
        )
    return graph


def ancestors(graph: nx.DiGraph, number: int) -> nx.DiGraph:
    """The part of the lineage that leads to an attempt, itself included."""
    return graph.subgraph({number, *nx.ancestors(graph, number)}).copy()


def descent(graph: nx.DiGraph, number: int) -> list[int]:
    """The longest line of descent to an attempt: attempt numbers, the oldest first."""
    return list(nx.dag_longest_path(ancestors(graph, number)))
