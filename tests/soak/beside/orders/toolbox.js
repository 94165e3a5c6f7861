const shop = new Table({
  name: 'shop',
  documentClient: DynamoDBDocumentClient.from(client),
  partitionKey: { name: 'PK', type: 'string' },
  sortKey: { name: 'SK', type: 'string' },
});
const Order = new Entity({
  name: 'ORDER',
  table: shop,
  schema: item({
    email: string().key(),
    number: number().key(),
    state: string().default('open'),
    tags: set(string()).optional(),
  }),
  computeKey: ({ email, number }) => ({ PK: `CUSTOMER#${email}`, SK: `ORDER#${number}` }),
});

await Order.build(PutItemCommand).item({ email: 'Eve@example.org', number: 1 }).send();
await Order.build(UpdateItemCommand).item({ email: 'Eve@example.org', number: 1, state: 'paid' })
  .options({ condition: { attr: 'state', eq: 'open' } }).send();
const { Items: data } = await shop.build(QueryCommand).entities(Order)
  .query({ partition: 'CUSTOMER#Eve@example.org' }).send();
