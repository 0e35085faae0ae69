# stage: unsafe; without checks: runtime
import numba


@numba.njit
def reach():
    with numba.objmode(x='int64'):
        x = len(open('@CANARY@').read())
    return x

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return reach()
