// Replicache's modules are made for bundlers, which put a constant in place of this name. Imported before they are.

globalThis.process ??= { env: { NODE_ENV: 'production' } };
