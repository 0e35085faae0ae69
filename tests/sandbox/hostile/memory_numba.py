# stage: memory
import numba


@numba.njit
def hoard(n):
    return np.ones(n).sum()

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return hoard(10**12)
