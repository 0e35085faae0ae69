# stage: compile timeout memory

x = (((((1 << 62) << 62) ** 9999) ** 9999) ** 9999)

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[0]
