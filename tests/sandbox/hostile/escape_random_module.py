# stage: unsafe runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    random._os.remove('@CANARY@')
