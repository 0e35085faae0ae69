"""The travelling salesman problem, built node by node.

A heuristic chooses the next node of a tour through points in the unit square. Semantics are those
of the published evaluator: the tour starts at node 0; at each step the function sees the unvisited
nodes in ascending distance from the current one, cut to the 50 nearest; the last node is forced.
The objective is the mean closed tour length.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from coevo.compiled import compiled
from coevo.problems import data
from coevo.problems.base import (
    Arrays,
    ArraySpec,
    BadOutput,
    Feature,
    Heuristic,
    Infeasible,
    Instances,
    NonFinite,
    Sense,
    Split,
)
from coevo.streams import stream

NEIGHBOURS = 50  # candidates shown per step, at most

TEMPLATE = '''\
def select_next_node(current_node: int, destination_node: int, unvisited_nodes: np.ndarray, \
distance_matrix: np.ndarray) -> int:
    """Choose the node that the tour visits next.

    Args:
        current_node: id of the node where the tour stands now.
        destination_node: id of the node where the tour started and must end.
        unvisited_nodes: 1-D integer array, ids of the nodes still to visit, nearest first.
        distance_matrix: 2-D float array; distance_matrix[i, j] is the distance from i to j.

    Returns:
        The id of the next node, one of unvisited_nodes.
    """
'''

TASK = (
    "Solve the travelling salesman problem step by step: starting from the current node, choose "
    "the next node again and again, so that the closed tour through all nodes is as short as "
    "possible. Choosing the nearest node each time is easy but leaves long edges for the end."
)

# A loop over candidates with named numbers: small models fail at shapes, and at telling an index
# from a node, but not at weighing numbers.
OPENING = """\
    best_node, lowest_cost = unvisited_nodes[0], np.inf
    for node in unvisited_nodes:
        near = distance_matrix[current_node, node]
"""
RULE = "        cost = near"
FEATURES = (
    Feature(
        "the distance from the candidate back to the destination",
        "back = distance_matrix[destination_node, node]",
    ),
    Feature(
        "the mean distance from the candidate to the unvisited nodes",
        "mean = distance_matrix[node, unvisited_nodes].mean()",
    ),
    Feature(
        "the distance from the candidate to its nearest other unvisited node",
        "onward = np.partition(distance_matrix[node, unvisited_nodes], 1)[1]",
    ),
    Feature(
        "the distance from the candidate to the farthest unvisited node",
        "farthest = distance_matrix[node, unvisited_nodes].max()",
    ),
    Feature(
        "the spread of the distances from the candidate to the unvisited nodes",
        "spread = distance_matrix[node, unvisited_nodes].std()",
    ),
    Feature(
        "how crowded it is round the candidate",
        "crowd = np.mean(distance_matrix[node, unvisited_nodes] < near)",
    ),
    Feature(
        "the candidate's mean distance to all nodes, visited or not",
        "centre = distance_matrix[node].mean()",
    ),
    Feature(
        "the share of nodes still unvisited, so that weights change during the tour",
        "left = len(unvisited_nodes) / len(distance_matrix)",
    ),
    Feature(
        "the detour: current to candidate to destination, less current to destination",
        "detour = near + distance_matrix[node, destination_node]"
        " - distance_matrix[current_node, destination_node]",
    ),
    Feature(
        "the distance from the current node to its nearest unvisited node",
        "nearest = distance_matrix[current_node, unvisited_nodes[0]]",
    ),
    Feature("a look-ahead of two steps: to the candidate and on to the best node after it"),
    Feature("a greedy look-ahead of three steps through unvisited nodes"),
    Feature("the regret: how much worse the second nearest node is than the nearest"),
    Feature("whether leaving the candidate for later would strand it, far from all others"),
)

_HEAD = "import numpy as np\n\n\n" + TEMPLATE
BASELINES = {
    "nearest neighbour": _HEAD + "    return unvisited_nodes[0]\n",
    "nearest, less 0.4 of the way back": _HEAD
    + "    score = distance_matrix[current_node, unvisited_nodes]\n"
    + "    score = score - 0.4 * distance_matrix[destination_node, unvisited_nodes]\n"
    + "    return unvisited_nodes[np.argmin(score)]\n",
}


def distances(points: np.ndarray) -> np.ndarray:
    """Euclidean distances, float64 (n, n), of points (n, 2)."""
    dx = points[:, None, 0] - points[None, :, 0]
    dy = points[:, None, 1] - points[None, :, 1]
    return np.sqrt(dx * dx + dy * dy)


def node_id(answer: Any) -> int:
    """Read the candidate's answer as a node id: an integer, an exact-integer float, or an array
    of one such number. Raises `BadOutput` for any other type and `NonFinite` for NaN or infinity.
    """
    if type(answer) is int:
        return answer
    if isinstance(answer, np.ndarray):
        if answer.size != 1:
            raise BadOutput(f"expected one node id, got an array of shape {answer.shape}")
        answer = answer.reshape(())[()]
    if isinstance(answer, (bool, np.bool_)) or not isinstance(answer, (int, float, np.number)):
        raise BadOutput(f"expected a node id (an integer), got {type(answer).__name__}")
    if isinstance(answer, (int, np.integer)):
        return int(answer)
    number = float(answer) if isinstance(answer, (float, np.floating)) else np.nan
    if not np.isfinite(number):
        raise NonFinite(f"expected a node id (an integer), got {answer}")
    if number != int(number):
        raise BadOutput(f"expected a node id (an integer), got {number:g}")
    return int(number)


@compiled()
def tour_lengths(points: np.ndarray, tours: np.ndarray, neighbours: int) -> np.ndarray:
    """Closed length of each tour; -1 for one that is no tour, -2 for one that leaves the list.

    points: float64 (instances, n, 2); tours: int64 (instances, n). A tour must start at node 0,
    visit each node once, and move each time to one of the ``neighbours`` nearest unvisited nodes.
    """
    count, n = tours.shape
    lengths = np.zeros(count)
    for k in range(count):
        visited = np.zeros(n, dtype=np.bool_)
        current = tours[k, 0]
        if current != 0:
            lengths[k] = -1.0
            continue
        visited[0] = True
        total = 0.0
        for i in range(1, n):
            node = tours[k, i]
            if node < 0 or node >= n or visited[node]:
                total = -1.0
                break
            dx = points[k, current, 0] - points[k, node, 0]
            dy = points[k, current, 1] - points[k, node, 1]
            step = np.sqrt(dx * dx + dy * dy)
            if n - i > neighbours:
                nearer = 0
                for j in range(n):
                    if not visited[j]:
                        ex = points[k, current, 0] - points[k, j, 0]
                        ey = points[k, current, 1] - points[k, j, 1]
                        if np.sqrt(ex * ex + ey * ey) < step:
                            nearer += 1
                if nearer >= neighbours:
                    total = -2.0
                    break
            total += step
            visited[node] = True
            current = node
        if total >= 0.0:
            dx = points[k, current, 0] - points[k, 0, 0]
            dy = points[k, current, 1] - points[k, 0, 1]
            total += np.sqrt(dx * dx + dy * dy)
        lengths[k] = total
    return lengths


class TSP:
    """Constructive TSP (see the module's docstring)."""

    name = "tsp"
    sense: Sense = "min"
    default_n = 50
    function = "select_next_node"
    arguments = ("current_node", "destination_node", "unvisited_nodes", "distance_matrix")
    template = TEMPLATE
    task = TASK
    features = FEATURES
    opening = OPENING
    rule = RULE
    baselines: Mapping[str, str] = MappingProxyType(BASELINES)

    def instances(
        self, split: Split, n: int, seed: int = data.TSP.seed, count: int | None = None
    ) -> Instances:
        """Points (count, n, 2) in the unit square. With the published seed, 1234, the published
        sets where they exist (train 50, val 20-200, test 20-1000); else a stream of our own.
        """
        if n < 3:
            raise ValueError(f"a tour needs at least 3 nodes, got --n {n}")
        block = data.TSP.find(split, n) if seed == data.TSP.seed else None
        if block is not None and (count is None or count <= block.count):
            points = data.TSP.draw(split, n)[:count]
        else:
            rng = stream(seed, "tsp", split, n)
            points = rng.random((count or (1000 if split == "test" else 64), n, 2))
        return Instances(self.name, split, n, seed, {"points": points})

    def outputs(self, instances: Instances) -> Mapping[str, ArraySpec]:
        count, n = instances.arrays["points"].shape[:2]
        return {"tours": ArraySpec("int64", (count, n))}

    def rollout(self, heuristic: Heuristic, instances: Instances) -> Arrays:
        points = instances.arrays["points"]
        tours = np.zeros(points.shape[:2], dtype=np.int64)
        for tour, instance in zip(tours, points, strict=True):
            self._build(heuristic, instance, tour)
        return {"tours": tours}

    @staticmethod
    def _build(heuristic: Heuristic, points: np.ndarray, tour: np.ndarray) -> None:
        n = len(points)
        matrix = distances(points)
        nearest = np.argsort(matrix, axis=1, kind="stable")
        # Backed by an immutable object: no flag makes it writable, so a candidate that changes
        # its inputs in place raises instead of seeing the change later on.
        shown = np.frombuffer(matrix.tobytes()).reshape(n, n)
        unvisited = np.ones(n, dtype=np.bool_)
        unvisited[0] = False
        current = 0
        for i in range(1, n - 1):
            row = nearest[current]
            candidates = row[unvisited[row]][:NEIGHBOURS]
            offered = candidates.tolist()  # ours: the candidate may change the array it is given
            node = node_id(heuristic(current, 0, candidates, shown))
            if node not in offered:
                raise Infeasible(f"node {str(node)[:20]} is not one of the unvisited nodes shown")
            tour[i] = current = node
            unvisited[node] = False
        tour[n - 1] = int(np.flatnonzero(unvisited)[0])

    def score(self, instances: Instances, arrays: Arrays) -> float:
        """Mean closed tour length. Raises `Infeasible` naming the first bad instance."""
        tours = np.asarray(arrays["tours"], dtype=np.int64)
        lengths = tour_lengths(instances.arrays["points"], tours, NEIGHBOURS)
        if (lengths < 0).any():
            k = int(np.argmax(lengths < 0))
            fault = "is not a tour" if lengths[k] == -1 else "leaves the nodes shown"
            raise Infeasible(f"the answer for instance {k} {fault}")
        return float(lengths.mean())
