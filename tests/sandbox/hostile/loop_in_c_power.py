# stage: timeout memory

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return len(str(7 ** 10 ** 9))
