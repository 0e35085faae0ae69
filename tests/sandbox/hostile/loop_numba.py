# stage: timeout
import numba


@numba.njit
def spin(x):
    while x > 0:
        x += 1
        if x > 1000:
            x = 1
    return x

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return spin(1)
