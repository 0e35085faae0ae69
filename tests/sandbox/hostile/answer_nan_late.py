# stage: nonfinite

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[0] if len(unvisited_nodes) > 3 else np.nan
