/* libyaml (https://github.com/yaml/libyaml) at commit 840b65c40675e2d06bf40405ad3f12dec7f35923, which is
   0.2.5 with a limit to nesting and two mended productions. Its files are as they are there, but for those
   that are left out, because nothing here writes YAML or asks for a tree of nodes: emitter.c, writer.c,
   dumper.c and loader.c. This file stands for the one that its configure makes.
   Docs/decisions/0017-sqlite-and-libyaml-in-c.md says why it is here. */
#define YAML_VERSION_MAJOR 0
#define YAML_VERSION_MINOR 2
#define YAML_VERSION_PATCH 5
#define YAML_VERSION_STRING "0.2.5"
