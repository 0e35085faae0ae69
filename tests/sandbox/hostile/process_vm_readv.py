# stage: unsafe; without checks: scored
import ctypes

libc = ctypes.CDLL(None)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    buffer = ctypes.create_string_buffer(64)
    vec = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 64)
    for pid in (@PID@, @ZYGOTE@):
        if libc.process_vm_readv(pid, vec, 1, vec, 1, 0) != -1:
            raise RuntimeError("BREACH")
    return unvisited_nodes[0]
