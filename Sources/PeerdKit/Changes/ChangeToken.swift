internal import CRDTCore
internal import Foundation
internal import Persistence

/// Up to where somebody has seen what changed in a scope of a workspace, on one machine.
///
/// It can be kept, as its text or as `Codable`, and given to ``Workspace/changes(of:since:)`` at any later time.
public struct ChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The first bytes of the workspace's id.
    let workspace: UInt64
    /// Names the era of the last commit that was seen; see `DatabaseHistory`.
    let history: Bytes16
    let scope: UInt64
    let place: ChangePlace
    /// As long as the whole state is told from the beginning, the last commit that belongs to it; else 0.
    let resetEnd: Int64

    init(workspace: UInt64, history: Bytes16, scope: UInt64, place: ChangePlace, resetEnd: Int64) {
        self.workspace = workspace
        self.history = history
        self.scope = scope
        self.place = place
        self.resetEnd = resetEnd
    }

    private static let version: UInt8 = 1

    /// Reads the text of a token.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument` for anything else.
    public init(_ text: String) throws {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64 + padding), let token = try? Self.decode([UInt8](data)) else {
            throw PeerdError(
                .invalidArgument,
                "This is not a token of a sequence of changes, or not all of one.",
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

    /// Reads the token's text.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the token as its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
