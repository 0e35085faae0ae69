# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    open('@CANARY@', 'a').write('BREACH')
    return unvisited_nodes[0]
