# stage: unsafe; without checks: scored
import ctypes

libc = ctypes.CDLL(None)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    if libc.syscall(129, @PID@, 10, None) == 0 or libc.syscall(297, @PID@, @PID@, 10, None) == 0:
        raise RuntimeError("BREACH")
    return unvisited_nodes[0]
