# stage: infeasible

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    node = int(unvisited_nodes[0])
    return node if current_node == 0 else 0 - len(distance_matrix)
