# stage: output

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return np.zeros((3, 3))
