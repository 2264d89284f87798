// Signing keys of the parties around Assent.
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A new ES256 key with the JWKS that publishes it, and `sign(claims, header)`. */
export async function newKey(kid) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
  return {
    jwks: { keys: [jwk] },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT', ...header }).sign(privateKey),
  };
}

/** This moment in whole seconds since the epoch. */
export const now = () => Math.floor(Date.now() / 1000);
