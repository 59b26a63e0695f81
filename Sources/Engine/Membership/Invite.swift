package import CRDTCore
internal import PeerCrypto

/// One line that lets one device join: addresses, the inviter's static key, and a secret that is good once.
package struct Invite: Hashable, Sendable {
    /// What another user needs to make himself known in a workspace.
    package struct Workspace: Hashable, Sendable {
        package var founder: UserID
        package var nonce: Bytes16

        package init(founder: UserID, nonce: Bytes16) { (self.founder, self.nonce) = (founder, nonce) }
    }

    package var staticKey: StaticKey
    package var secret: Bytes32
    /// The workspace that somebody is invited to who shows a root key; nil for a device of the same user.
    package var workspace: Workspace?
    package var port: UInt16
    package var addresses: [String]

    package init(staticKey: StaticKey, secret: Bytes32, port: UInt16, addresses: [String]) {
        self.staticKey = staticKey
        self.secret = secret
        self.port = port
        self.addresses = addresses
    }

    /// How long an invite is good: ten minutes.
    package static let lifetimeMilliseconds: UInt64 = 600_000
    /// How many invites may be open at once.
    package static let openCountMax = 8
    /// What the line of an invite for a device begins with, and that for another person.
    private static let prefixes = (device: "peerd:1:", person: "peerd:2:")
    private static let addressCountMax = 16
    /// More than an invite with all its addresses in base64url.
    package static let textByteCountMax = 8 << 10

    /// The line: `peerd:1:` and unpadded base64url of key ‖ secret ‖ port ‖ addresses, each with a length byte ‖
    /// checksum.
    ///
    /// For another person `peerd:2:`, and founder ‖ nonce of the workspace come before the port.
    package var text: String {
        var bytes = self.staticKey.bytes.array + self.secret.array
        if let workspace { bytes += workspace.founder.bytes.array + workspace.nonce.array }
        bytes.append(UInt8(truncatingIfNeeded: self.port >> 8))
        bytes.append(UInt8(truncatingIfNeeded: self.port))
        for address in self.addresses.prefix(Invite.addressCountMax) where address.utf8.count <= 255 {
            bytes.append(UInt8(address.utf8.count))
            bytes.append(contentsOf: address.utf8)
        }
        let prefix = self.workspace == nil ? Invite.prefixes.device : Invite.prefixes.person
        return prefix + Base64URL.text(bytes + Invite.checksum(of: bytes))
    }

    /// Reads a line; nil if it is not an invite.
    ///
    /// White space around it does not matter.
    package init?(text: String) {
        let line = text.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        let isForPerson = line.hasPrefix(Invite.prefixes.person)
        guard line.utf8.count <= Invite.textByteCountMax, isForPerson || line.hasPrefix(Invite.prefixes.device),
            let bytes = Base64URL.bytes(line.dropFirst(Invite.prefixes.device.count))
        else { return nil }
        let content = Array(bytes.dropLast(Invite.checksumByteCount))
        guard content.count + Invite.checksumByteCount == bytes.count,
            Invite.checksum(of: content).elementsEqual(bytes.suffix(Invite.checksumByteCount))
        else { return nil }
        var reader = ByteReader(content)
        do throws(WireError) {
            self.staticKey = StaticKey(bytes: try reader.bytes32())
            self.secret = try reader.bytes32()
            if isForPerson {
                self.workspace = Workspace(founder: UserID(bytes: try reader.bytes32()), nonce: try reader.bytes16())
            }
            self.port = UInt16(try reader.byte()) << 8 | UInt16(try reader.byte())
            self.addresses = []
            while reader.remaining > 0 {
                guard self.addresses.count < Invite.addressCountMax else { return nil }
                let text = try reader.slice(Int(try reader.byte()))
                guard let address = String(validating: text, as: UTF8.self) else { return nil }
                self.addresses.append(address)
            }
        } catch {
            return nil
        }
    }

    private static let checksumByteCount = 4

    /// Shows that the line was copied as a whole; the secret is guarded by the handshake.
    private static func checksum(of bytes: [UInt8]) -> [UInt8] {
        let hash = Blake2b.hash256(HashPersonal("peerd/invite"), bytes).0
        return (0..<self.checksumByteCount).map { UInt8(truncatingIfNeeded: hash >> (8 * UInt64($0))) }
    }
}

/// Whom an invite is for.
package enum Guest: Hashable, Sendable {
    /// One more device of the user who invites.
    case device
    /// Another person, who is called so here.
    case person(String)
    /// Somebody of the workspace who has lost his devices, and not the words of his root key.
    case returning
}

/// Why a device makes no invite.
package enum InviteRefusal: Error, Hashable, Sendable {
    /// Between it and the user's key stand so many devices that nobody would accept one that it certifies; `nearest`
    /// names one that can invite.
    case tooFarFromRoot(nearest: String)
    /// Only the founder lets other people into the workspace.
    case notFounder
    case store(StoreError)
}

/// Unpadded base64url (RFC 4648 §5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                characters.append(self.alphabet[Int(bits >> bitCount & 63)])
            }
            bits &= 0xff
        }
        if bitCount > 0 { characters.append(self.alphabet[Int(bits << (6 - bitCount) & 63)]) }
        return String(decoding: characters, as: UTF8.self)
    }

    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for character in text.utf8 {
            guard let value = self.alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
                bits &= (1 << bitCount) - 1
            }
        }
        return bitCount < 6 && bits == 0 ? bytes : nil
    }
}
