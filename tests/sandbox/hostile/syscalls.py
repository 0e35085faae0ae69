# stage: unsafe; without checks: scored
import ctypes

libc = ctypes.CDLL(None)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    buffer = ctypes.create_string_buffer(4096)
    address = ctypes.c_long(ctypes.addressof(buffer))
    for number in (@SYSCALLS@):
        if libc.syscall(number, address, address, address, address, address, address) >= 0:
            raise RuntimeError(f"BREACH {number}")
        if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0:
            raise RuntimeError(f"BREACH {number}")
    return unvisited_nodes[0]
