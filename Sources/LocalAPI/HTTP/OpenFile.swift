internal import Foundation

/// A file that is open for reading, and is closed when nobody needs it any more.
package final class OpenFile: Sendable {
    package let descriptor: Int32

    /// Takes over a descriptor.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(self.descriptor) }
}
