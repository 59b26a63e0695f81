/// How a handshake travels: the side that dials says which one it is to be, then each message follows its length.
package enum HandshakeFraming {
    /// What the dialling side says first, and also the prologue of the handshake.
    package enum Greeting: Equatable, Sendable, CaseIterable {
        /// The two sides have an invite's secret in common.
        case pairing
        /// The two sides know each other's static keys.
        case known
        /// The two sides are members of one workspace, and have its membership key in common.
        case member

        /// The greeting as it is sent, and as it is hashed.
        package var bytes: [UInt8] {
            switch self {
            case .pairing: Array("peerd/1p".utf8)
            case .known: Array("peerd/1k".utf8)
            case .member: Array("peerd/1m".utf8)
            }
        }

        /// The handshake that follows.
        package var pattern: NoisePattern {
            switch self {
            case .pairing: .xxPsk0Psk3
            case .known: .ik
            case .member: .xxPsk0
            }
        }
    }

    /// Why what was received is no handshake of ours.
    package enum Violation: Equatable, Sendable {
        /// The first bytes are no greeting.
        case unknownGreeting
        /// A message of a length that none of ours has.
        case messageLength
    }

    /// What the bytes received so far contain.
    package enum Item: Equatable, Sendable {
        /// Nothing that is complete.
        case needsMore
        /// The greeting.
        case greeting(Greeting)
        /// The next handshake message.
        case message([UInt8])
        /// The connection must be dropped. The same answer is given from then on.
        case violation(Violation)
    }

    /// The length of a greeting.
    package static let greetingByteCount = 8
    /// The bytes of a message's length, which is big-endian.
    package static let lengthByteCount = 2
    /// The longest handshake message sent or taken.
    package static let messageByteCountMax = 4096

    /// A message behind its length; nil where it is empty or too long.
    package static func framed(_ message: [UInt8]) -> [UInt8]? {
        guard (1...Self.messageByteCountMax).contains(message.count) else { return nil }
        let length = UInt16(truncatingIfNeeded: message.count)
        return [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)] + message
    }
}
