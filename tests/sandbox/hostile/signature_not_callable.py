# stage: signature

select_next_node = 7
