# stage: timeout
import numba


@numba.njit
def shout():
    while True:
        print(1234567890)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return shout()
