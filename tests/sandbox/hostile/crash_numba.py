# stage: runtime
import numba


@numba.njit
def peek(x):
    row = np.ones(4)
    for i in range(10**9):
        row[i * 10**6] += 1
    return row[0]

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return peek(0)
