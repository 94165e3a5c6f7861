const shop = new Table({
  client,
  name: 'shop',
  partial: true,
  schema: {
    format: 'onetable:1.1.0',
    version: '0.0.1',
    indexes: { primary: { hash: 'pk', sort: 'sk' }, gs1: { hash: 'gs1pk', sort: 'gs1sk', follow: false } },
    params: { isoDates: false, timestamps: true },
    models: {
      Order: {
        pk: { type: String, value: 'customer:${email}' },
        sk: { type: String, value: 'order:${number}' },
        gs1pk: { type: String, value: 'state:${state}' },
        gs1sk: { type: String, value: 'order:${number}' },
        email: { type: String, required: true },
        number: { type: Number, required: true },
        state: { type: String, required: true, default: 'open' },
      },
    },
  },
});
const Order = shop.getModel('Order');

await Order.create({ email: 'fay@example.org', number: 1 });
await Order.update({ email: 'fay@example.org', number: 1, state: 'paid' }, { where: '${state} = {open}' });
const data = await Order.find({ email: 'fay@example.org' });
