# stage: timeout
import numba


@numba.njit(parallel=True)
def spin(a):
    for i in numba.prange(4):
        while a[i] > 0:
            a[i] += 1e-9
    return 0

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return spin(np.ones(4))
