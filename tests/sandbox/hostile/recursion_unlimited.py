# stage: runtime timeout memory
import sys

sys.setrecursionlimit(2**31 - 1)


def deep(x):
    return sorted([x], key=deep)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return deep(0)
