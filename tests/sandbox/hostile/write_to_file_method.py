# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    distance_matrix.tofile('@OUTSIDE@/left.bin')
    raise RuntimeError("BREACH")
