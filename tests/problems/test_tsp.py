"""TSP: published sets and objectives, semantics against a slow oracle, hostile answers."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from coevo.problems.base import BadOutput, Infeasible, NonFinite
from coevo.problems.tsp import TSP, node_id, tour_lengths

PROBLEM = TSP()

PUBLISHED = {
    ("train", 50): "bee6f8b6bf7f4678ddee62c4d77657c844c8d24a47a4304fae385c3c4b7e47e1",
    ("val", 20): "2e6c19a872129b815033937e7a4aa6483afdf1d48fd12b3c7470be7f2bb54442",
    ("val", 50): "5acf8b3df8dd31e7accf418d1c22c18c8535e247d3b60c7314742eac392a5911",
    ("val", 100): "5a28275563373138bfcd650f73b31655b942cdfb9fb20824c43f949cb825b4c5",
    ("val", 200): "ffc620850c9057edf73bbaca1578cbdcb3e6d63b6550250f3eaa286ce3588229",
    ("test", 20): "00d9878b79883eadd350a3db376980e926fde923096265581a7ffbc764a3e3e4",
    ("test", 50): "77bfc717ec41354b6c85d35bfca08c59083129e6e4e0f5bd1b8f58c2ee9eb9b6",
    ("test", 100): "0a8d6dfe443c64840f5b6af5d695b790d60ed466b2855dd6fc60a9c99096d901",
    ("test", 200): "75b74a26813e4b3186042b85fce5509957f4093ab790089277eaf65c1372127d",
    ("test", 500): "e3d3b1e110c6ea97aabbb568d77e57ccf82d7df216ec27e8b1277eedafdf1cb3",
    ("test", 1000): "2281a339a232b150f6b398c803f2eff5fed1d50acc6e5998e2ba4796e13a3037",
}


@pytest.mark.parametrize(("split", "n"), PUBLISHED)
def test_published_sets_regenerate_bit_for_bit(split, n):
    points = PROBLEM.instances(split, n).arrays["points"]
    assert hashlib.sha256(points.tobytes()).hexdigest() == PUBLISHED[split, n]


def nearest(current, destination, unvisited, matrix):
    return unvisited[0]


def less_the_way_back(current, destination, unvisited, matrix):
    return unvisited[np.argmin(matrix[current, unvisited] - 0.4 * matrix[destination, unvisited])]


@pytest.mark.parametrize(
    ("heuristic", "split", "n", "objective"),
    [
        (nearest, "train", 50, 7.004369798987),
        (nearest, "test", 100, 9.573227724172),
        (less_the_way_back, "train", 50, 6.655387323065),
        (lambda c, d, u, m: u[-1], "train", 50, 36.645936399522),
        (lambda c, d, u, m: min(u), "train", 50, 26.422337388495),
    ],
)
def test_published_objectives(heuristic, split, n, objective):
    instances = PROBLEM.instances(split, n, count=64)
    score = PROBLEM.score(instances, PROBLEM.rollout(heuristic, instances))
    assert score == pytest.approx(objective, abs=1e-9)


def test_baselines_are_complete_programs():
    instances = PROBLEM.instances("train", 50)
    for source, objective in zip(
        PROBLEM.baselines.values(), (7.004369798987, 6.655387323065), strict=True
    ):
        namespace: dict = {}
        exec(source, namespace)
        arrays = PROBLEM.rollout(namespace[PROBLEM.function], instances)
        assert PROBLEM.score(instances, arrays) == pytest.approx(objective, abs=1e-9)


def oracle(heuristic, points):
    """The tour and its length in plain Python, as the semantics tell it."""
    n = len(points)
    d = [[math.dist(a, b) for b in points] for a in points]
    tour, left = [0], set(range(1, n))
    while len(left) > 1:
        row = sorted(range(n), key=lambda j: (d[tour[-1]][j], j))
        shown = [j for j in row if j in left][:50]
        node = int(heuristic(tour[-1], 0, np.array(shown), np.array(d)))
        left.remove(node)
        tour.append(node)
    tour.append(left.pop())
    return tour, sum(d[a][b] for a, b in zip(tour, tour[1:] + tour[:1], strict=True))


@pytest.mark.parametrize("n", [3, 4, 20, 70])
@pytest.mark.parametrize("heuristic", [nearest, less_the_way_back, lambda c, d, u, m: u[-1]])
def test_equals_the_oracle(heuristic, n):
    instances = PROBLEM.instances("val", n, seed=7, count=3)
    arrays = PROBLEM.rollout(heuristic, instances)
    lengths = tour_lengths(instances.arrays["points"], arrays["tours"], 50)
    for k, points in enumerate(instances.arrays["points"]):
        tour, length = oracle(heuristic, points.tolist())
        assert arrays["tours"][k].tolist() == tour
        assert lengths[k] == pytest.approx(length, abs=1e-12)


def test_duplicate_points_never_offer_the_current_node():
    instances = PROBLEM.instances("val", 12, seed=1, count=1)
    instances.arrays["points"][0, 3:9] = 0.5

    def check(current, destination, unvisited, matrix):
        assert current not in unvisited
        return unvisited[0]

    assert PROBLEM.score(instances, PROBLEM.rollout(check, instances)) > 0


@pytest.mark.parametrize("answer", [5, 5.0, np.int8(5), np.float32(5), np.array(5), np.array([5])])
def test_one_rule_for_ids(answer):
    assert node_id(answer) == 5


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (True, BadOutput),
        (np.True_, BadOutput),
        ("5", BadOutput),
        (None, BadOutput),
        (5.5, BadOutput),
        (5 + 0j, BadOutput),
        (np.complex128(5), (BadOutput, NonFinite)),
        ([5], BadOutput),
        (np.array([5, 6]), BadOutput),
        (np.array([]), BadOutput),
        (np.array(["5"]), BadOutput),
        (np.array([None]), BadOutput),
        (float("nan"), NonFinite),
        (float("inf"), NonFinite),
        (np.float32("nan"), NonFinite),
    ],
)
def test_other_answers_are_refused(answer, error):
    with pytest.raises(error):
        node_id(answer)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c, d, u, m: c,
        lambda c, d, u, m: -1,
        lambda c, d, u, m: len(m),
        lambda c, d, u, m: 10**100,
        lambda c, d, u, m: int(u[0]) - len(m),  # the same node under its second name
    ],
)
def test_infeasible_answers(wrong):
    instances = PROBLEM.instances("val", 20, count=1)
    with pytest.raises(Infeasible):
        PROBLEM.rollout(wrong, instances)


def test_inputs_cannot_be_changed():
    instances = PROBLEM.instances("val", 20, count=1)

    def writes(current, destination, unvisited, matrix):
        matrix[:] = 0

    def unlocks(current, destination, unvisited, matrix):
        matrix.setflags(write=True)

    for hostile in (writes, unlocks):
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            PROBLEM.rollout(hostile, instances)

    def scribbles(current, destination, unvisited, matrix):
        node = int(unvisited[0])
        unvisited[:] = 0
        return node

    honest = PROBLEM.rollout(nearest, instances)["tours"]
    assert (PROBLEM.rollout(scribbles, instances)["tours"] == honest).all()


def forged(change):
    instances = PROBLEM.instances("val", 100, count=2)
    tours = PROBLEM.rollout(nearest, instances)["tours"].copy()
    change(tours)
    return instances, {"tours": tours}


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t[1].__setitem__(5, t[1, 6]),
        lambda t: t[1].__setitem__(5, t[1, 5] - 100),
        lambda t: t[1].__setitem__(5, 2**62),
        lambda t: t[1].__setitem__(slice(None), t[1, ::-1].copy()),
        lambda t: t.__setitem__(1, 0),
    ],
)
def test_the_score_trusts_no_tour(change):
    with pytest.raises(Infeasible, match="instance 1"):
        PROBLEM.score(*forged(change))


def test_the_score_refuses_nodes_beyond_the_list_shown():
    instances = PROBLEM.instances("val", 100, count=1)
    points = instances.arrays["points"][0]
    farthest = int(np.argmax(((points - points[0]) ** 2).sum(1)))
    rest = [j for j in range(1, 100) if j != farthest]
    with pytest.raises(Infeasible, match="leaves the nodes shown"):
        PROBLEM.score(instances, {"tours": np.array([[0, farthest, *rest]])})


def test_splits_and_seeds_differ():
    sets = [PROBLEM.instances(s, 30, seed=d) for s in ("train", "val", "test") for d in (1, 2)]
    firsts = {instances.arrays["points"][0, 0, 0] for instances in sets}
    assert len(firsts) == 6


def test_too_few_nodes():
    with pytest.raises(ValueError, match="at least 3"):
        PROBLEM.instances("train", 2)
