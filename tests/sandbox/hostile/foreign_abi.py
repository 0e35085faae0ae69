# stage: unsafe; without checks: runtime
import ctypes
import mmap

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret: getpid of the 32-bit table
    area = mmap.mmap(-1, 4096, prot=7)
    area.write(code)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    print("BREACH", ctypes.CFUNCTYPE(ctypes.c_long)(start)())
    return unvisited_nodes[0]
