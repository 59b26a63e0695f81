internal import CRDTCore

/// Who wrote something.
public struct Author: Hashable, Sendable, Codable {
    /// The name of the machine.
    public let name: String
    /// Whether it is this machine.
    public let isThisMachine: Bool
}

extension Author {
    /// The author of the changes of a chain, which is not known before its first change is there.
    init(_ introduction: Introduction?, of device: DeviceID) {
        self.name = introduction?.deviceName ?? "?"
        self.isThisMachine = introduction?.device == device
    }
}
