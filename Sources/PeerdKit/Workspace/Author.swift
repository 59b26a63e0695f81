internal import CRDTCore

/// The machine that wrote a change.
public struct Author: Hashable, Sendable, Codable {
    /// The name that the machine gave itself when it created or joined the workspace.
    public let name: String
    /// Tells whether it is this machine.
    public let isThisMachine: Bool
}

extension Author {
    /// Names the author of a chain, which is unknown until the chain's first change is there.
    package init(_ introduction: Introduction?, of device: DeviceID) {
        self.name = introduction?.deviceName ?? "?"
        self.isThisMachine = introduction?.device == device
    }
}
