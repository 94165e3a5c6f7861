// What each mutation does here at once, before the server has answered: the same as its twin in model.py does there.
// Replicache runs them again on the server's newest state whenever that moves. So they say nothing and ask for nothing
// but what the transaction holds.

import { noting, revise } from './undo.js';

export const mutators = noting({
  put_shape: (tx, { id, shape }) => tx.set(`shapes/${id}`, shape),

  async move_shape(tx, { id, x, y }) {
    const shape = await tx.get(`shapes/${id}`);
    if (shape !== undefined) await tx.set(`shapes/${id}`, { ...shape, x, y });
  },

  delete_shape: (tx, { id }) => tx.del(`shapes/${id}`),

  put_comment: (tx, { id, comment }) => tx.set(`comments/${id}`, comment),

  delete_comment: (tx, { id }) => tx.del(`comments/${id}`),

  async rename(tx, { name }) {
    await tx.set('project', { ...(await tx.get('project')), name });
  },

  revise,
});
