internal import Engine

/// One line that lets one machine join a workspace: good once, for ten minutes.
///
/// It holds a secret: whoever reads it first can join.
public struct Invitation: Hashable, Sendable {
    let content: Invite

    init(_ content: Invite) { self.content = content }

    /// Reads a line, with white space around it or not.
    ///
    /// - Throws: ``PeerdError`` with `inviteInvalid` for anything that is not a whole invite with an address.
    public init(_ line: String) throws {
        guard let content = Invite(text: line), !content.addresses.isEmpty else {
            throw PeerdError(
                .inviteInvalid,
                "This is not an invite, or not all of one.",
                advice: "Copy the whole line that the other machine shows."
            )
        }
        self.content = content
    }

    /// The line.
    public var text: String { self.content.text }

    /// Where the machine that invites can be reached.
    public var addresses: [String] { self.content.addresses }
}
