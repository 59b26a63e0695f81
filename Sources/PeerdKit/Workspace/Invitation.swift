internal import Engine

/// A line of text that lets one machine join a workspace, once, within ten minutes.
///
/// It holds a secret: the first machine that uses it becomes a member. Show it only to the person who joins.
public struct Invitation: Hashable, Sendable {
    let content: Invite

    init(_ content: Invite) { self.content = content }

    /// Reads the line that another machine printed; white space around it does not matter.
    ///
    /// - Throws: ``PeerdError`` with `inviteInvalid` if it is not a complete invite with an address.
    public init(_ line: String) throws {
        guard let content = Invite(text: line), !content.addresses.isEmpty else {
            throw PeerdError(
                .inviteInvalid,
                "This is not a complete invite.",
                advice: "Copy the whole line that the other machine shows."
            )
        }
        self.content = content
    }

    /// The line to hand to the machine that joins.
    public var text: String { self.content.text }

    /// The hosts at which the machine that invites can be reached, without the port.
    public var addresses: [String] { self.content.addresses }
}
