internal import CRDTCore
internal import Foundation
internal import Persistence

/// A position in the changes of a scope of a workspace, on one machine.
///
/// Store it, as its text or as `Codable`, and give it to ``Workspace/changes(of:since:)`` at any later time. It does
/// not expire.
public struct ChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The first bytes of the workspace's id.
    let workspace: UInt64
    /// The epoch of the last commit that was seen; see `DatabaseEpochs`.
    let history: Bytes16
    let scope: UInt64
    let place: ChangePlace
    /// The last commit that belongs to the whole state, while its parts are read; otherwise 0.
    let resetEnd: Int64

    init(workspace: UInt64, history: Bytes16, scope: UInt64, place: ChangePlace, resetEnd: Int64) {
        self.workspace = workspace
        self.history = history
        self.scope = scope
        self.place = place
        self.resetEnd = resetEnd
    }

    private static let version: UInt8 = 1

    /// Reads the text of a token, as ``description`` gives it.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument` if the text is not a complete token.
    public init(_ text: String) throws {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64 + padding), let token = try? Self.decode([UInt8](data)) else {
            throw PeerdError(
                .invalidArgument,
                "This is not a complete token of a sequence of changes.",
                advice: "Begin without one: the first element is the whole state."
            )
        }
        self = token
    }

    /// The token as text of letters, digits, `-` and `_`.
    public var description: String {
        var bytes: [UInt8] = [Self.version]
        bytes.appendBigEndian(self.workspace)
        self.history.append(to: &bytes)
        bytes.appendBigEndian(self.scope)
        for number in [self.place.commit, self.place.object, self.resetEnd] {
            bytes.appendVarint(UInt64(bitPattern: number))
        }
        return Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func decode(_ bytes: [UInt8]) throws(WireError) -> ChangeToken {
        var reader = ByteReader(bytes)
        guard try reader.byte() == self.version else { throw .badReference }
        let workspace: UInt64 = try reader.bigEndian()
        let history = try reader.bytes16()
        let scope: UInt64 = try reader.bigEndian()
        var numbers: [Int64] = []
        for _ in 0..<3 {
            guard let number = Int64(exactly: try reader.varint()) else { throw .overLimit }
            numbers.append(number)
        }
        guard reader.remaining == 0 else { throw .badReference }
        return ChangeToken(
            workspace: workspace,
            history: history,
            scope: scope,
            place: ChangePlace(commit: numbers[0], object: numbers[1]),
            resetEnd: numbers[2]
        )
    }

    /// Reads a token from its text.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument`; the errors of the decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the token as its text.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
