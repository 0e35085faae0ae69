# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    print('BREACH', np.fromfile('@CANARY@', dtype=np.uint8).tobytes())
    return unvisited_nodes[0]
