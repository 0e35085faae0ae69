# stage: scored infeasible runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    unvisited_nodes[:] = 3
    return unvisited_nodes[0]
