# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    np.save('@OUTSIDE@/left.npy', distance_matrix)
    raise RuntimeError("BREACH")
