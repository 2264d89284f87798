// Everyone whom a delegation needs, each on a site of its own: a Provider that runs Assent, two Brands with their
// websites, the Brands' agent, and a personal agent.
import './names.mjs';

import { startAgent } from './agent.mjs';
import { startAssent } from './assent.mjs';
import { startBrandSite } from './brand.mjs';
import { freePort } from './http.mjs';
import { startPersonalAgent } from './pa.mjs';

/** The scopes of both Brands; one description tries to be markup. */
export const SCOPES = [
  { id: 'orders:read', description: 'Look up your orders and their status', detail: 'Orders of the last two years' },
  { id: 'orders:cancel', description: 'Cancel an order that has not shipped', writes: true },
  { id: 'notes:read', description: 'Read notes marked <b>private</b> & "quoted"' },
];

const quote = (text) => JSON.stringify(text);

const scopeTable = ({ id, description, detail, writes }) =>
  `  { id = ${quote(id)}, description = ${quote(description)}` +
  `${detail ? `, detail = ${quote(detail)}` : ''}${writes ? ', writes = true' : ''} },`;

const brandTable = (brand, agent) => `
[[brand]]
id = ${quote(brand.id)}
name = ${quote(brand.name)}
description = "Orders and changes."
version = "1.0.0"
skills = [{ id = "orders", name = "Orders", description = "Order status and changes.", tags = ["orders"] }]
agent = { url = ${quote(agent.url)}, timeout_seconds = 10 }

[brand.delegation]
${brand.authOrigin ? `auth_origin = ${quote(brand.authOrigin)}\n` : ''}login_url = ${quote(brand.site.loginUrl)}
${brand.returns ? `return_url = ${quote(brand.site.connectedUrl)}\n` : ''}\
assertion = { issuer = ${quote(brand.site.issuer)}, jwks_uri = ${quote(brand.site.jwksUri)} }
signing_alg = ${quote(brand.signingAlg)}
${brand.events ? `events = { url = ${quote(brand.events)} }\n` : ''}scopes = [
${SCOPES.map(scopeTable).join('\n')}
]
`;

/**
 * Starts everyone, the Provider with `sections` of configuration beside the usual ones. `shop` is an authorization server under a host of its own and sends Users back to its website;
 * `club` is one under its interface URL, signs with RS256 and has no page to send Users back to. With `events`, `shop` is told
 * there of its grants; `hasLounge` adds a third Brand that is like the second.
 */
export async function startWorld({ events, sections = '', hasLounge = false } = {}) {
  const started = [];
  const keep = (party) => {
    started.push(party);
    return party;
  };
  const stop = async () => {
    for (const party of started.reverse()) await party.stop();
  };
  try {
    const [port, adminPort] = [await freePort(), await freePort()];
    const provider = `http://provider.localhost:${port}`;
    const audience = `${provider}/a2a`;
    const agent = keep(await startAgent());
    const pa = keep(await startPersonalAgent({ name: 'Demo personal agent', audience }));

    const brand = async ({ label, id, authOrigin, ...more }) => {
      const interfaceUrl = `${provider}/a2a/${id}`;
      const issuer = authOrigin ?? `${interfaceUrl}/oauth`;
      const consentUrl = `${issuer}/consent`;
      const grantsUrl = `${issuer}/grants`;
      const site = keep(await startBrandSite({ label, consentUrl, grantsUrl }));
      return { id, authOrigin, interfaceUrl, issuer, consentUrl, grantsUrl, site, ...more };
    };
    const shop = await brand({
      label: 'shop',
      id: '01M3R53Q5SZQ6FQSMSDBSSREAA',
      name: 'Skyline Shop',
      authOrigin: `http://auth.shop.localhost:${port}`,
      returns: true,
      signingAlg: 'ES256',
      events,
    });
    const club = await brand({
      label: 'club',
      id: '01M3R53Q5SZQ6FQSMSDBSSREAB',
      name: 'Harbour Club',
      returns: false,
      signingAlg: 'RS256',
    });

    const lounge =
      hasLounge &&
      (await brand({
        label: 'lounge',
        id: '01M3R53Q5SZQ6FQSMSDBSSREAC',
        name: 'Airport Lounge',
        returns: false,
        signingAlg: 'ES256',
      }));
    const brands = [shop, club, lounge].filter(Boolean);
    agent.brands.push(...brands);

    const config = `
public_url = ${quote(provider)}
audience = ${quote(audience)}
listen = "127.0.0.1:${port}"
admin_listen = "127.0.0.1:${adminPort}"
provider_name = "Example Provider"

[outbound]
allow_private = true
${sections}`;
    const apply = `
[[personal_agent]]
name = ${quote(pa.name)}
issuer = ${quote(pa.issuer)}
jwks_uri = ${quote(pa.jwksUri)}
enabled = true
${brands.map((brand) => brandTable(brand, agent)).join('')}`;
    const assent = keep(await startAssent({ config, apply, adminPort }));
    const admin = `http://localhost:${adminPort}`;
    return { provider, audience, admin, adminPort, agent, pa, shop, club, lounge, assent, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
