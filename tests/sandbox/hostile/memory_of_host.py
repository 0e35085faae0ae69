# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    from multiprocessing import shared_memory

    shared_memory.SharedMemory('coevo', create=True, size=100)
    raise RuntimeError("BREACH")
