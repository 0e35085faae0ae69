# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    open('@OUTSIDE@/left', 'w').write('BREACH')
    return unvisited_nodes[0]
