// Small HTTP servers for the parties around Assent, and what their pages need.
import http from 'node:http';
import net from 'node:net';

/** Escapes `text` for an HTML text or a quoted attribute. */
export const html = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);

/** A page of a party that is not Assent. */
export const page = (title, body) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${html(title)}</title><body><h1>${html(title)}</h1>${body}</body></html>`;

/** A port of 127.0.0.1 on which nothing listens at this moment. */
export async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await new Promise((done, failed) => probe.once('listening', done).once('error', failed));
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}

/**
 * Serves `answer(request)` on `port` of 127.0.0.1, a free one if none is named. The request is `{ method, path, query, headers, body }`, the
 * answer `{ status = 200, type = 'text/html; charset=utf-8', headers = {}, body = '' }` or nothing for a 404.
 */
export async function serve(answer, port = 0) {
  const server = http.createServer(async (incoming, outgoing) => {
    try {
      const chunks = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const url = new URL(incoming.url, 'http://any.localhost');
      const request = {
        method: incoming.method,
        path: url.pathname,
        query: url.searchParams,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      const { status = 200, type = 'text/html; charset=utf-8', headers = {}, body = '' } =
        (await answer(request)) ?? { status: 404, body: page('Not found', '') };
      outgoing.writeHead(status, { 'content-type': type, ...headers }).end(body);
    } catch (error) {
      outgoing.writeHead(500, { 'content-type': 'text/plain' }).end(String(error?.stack ?? error));
    }
  });
  server.listen(port, '127.0.0.1');
  await new Promise((done, failed) => server.once('listening', done).once('error', failed));
  return {
    port: server.address().port,
    stop: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections();
      }),
  };
}

/** `value` as the body of a JSON answer. */
export const json = (value) => ({ type: 'application/json', body: JSON.stringify(value) });
