(config_file (body (block) @class))
