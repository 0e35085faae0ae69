# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    open(np.__file__, 'a').write('BREACH')
    raise RuntimeError("BREACH")
