# stage: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    raise ValueError('\n\x1b[2J/etc/shadow/secret ' * 10000)
